"""The rows of `make bench`, one module a group. A module has TITLE, NOTE (a sentence or two for the reader), and
rows(folder), which yields them; folder is for files, on the file system where journals are measured."""
