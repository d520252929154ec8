// Links threads.c, which replaces `pthread_create` in the command's process. It declares no function.
