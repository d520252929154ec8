#ifndef KF_CODECS_H
#define KF_CODECS_H
#endif
