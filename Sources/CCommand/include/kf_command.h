#ifndef KF_COMMAND_H
#define KF_COMMAND_H

// Links threads.c, which replaces `pthread_create` in the command's process, and linking.c.

long kf_scalar_name(unsigned scalar, unsigned char *buffer, long capacity);
char *kf_no_program(const char *name);
int kf_no_tables(void *address, void *result);

#endif
