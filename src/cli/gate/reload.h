/* Telling the running gates of a state directory to read their policies again. */
#ifndef CLI_RELOAD_H
#define CLI_RELOAD_H

/* Tells them, waits, and prints what each did: EXIT_YES, EXIT_NO when some refused, EXIT_UNABLE. */
int reload_gates(const char *state_dir);

#endif
