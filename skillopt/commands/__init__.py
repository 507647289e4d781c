"""The commands, thin over the library. These modules import little: heavy things are imported when used."""
