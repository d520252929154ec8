#ifndef KF_CURL_H
#define KF_CURL_H
#endif
