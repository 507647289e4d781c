"""The habits of spreadsheet work, each with what an optimizer may say about it."""

from __future__ import annotations

from collections.abc import Mapping

from harness.models.apprentice.lesson import Lesson
from harness.models.apprentice.lessons_reading import READING
from harness.models.apprentice.lessons_writing import WRITING
from harness.models.apprentice.mind import Habit
from harness.models.apprentice.notes import NOTES

LESSONS: Mapping[str, Lesson] = {lesson.habit.name: lesson for lesson in (*READING, *WRITING, NOTES)}
"""By habit name. `follow_notes` is the one habit that is bad: its good sentences tell not to have it."""

HABITS: tuple[Habit, ...] = tuple(lesson.habit for lesson in LESSONS.values())
