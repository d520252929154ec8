// What only the command may do to its process. threads.c replaces `pthread_create`; nothing here is to be called.
