import CCurl

/// What libcurl calls while it works on a handle, each with the handle as context.
struct CurlCallbacks {
    var header: kf_bytes_fn
    var body: kf_bytes_fn
    var openSocket: kf_socket_fn
    var beforeRequest: kf_prerequest_fn
}
