import KFCore

/// Signs requests. A real one would ask somebody for the signature, and wait.
struct Signature: ImageDownloadRequestModifier {
    func modified(for request: ImageDownloadRequest) async -> ImageDownloadRequest? {
        var request = request
        request.headers.append(("X-Signature", "example"))
        return request
    }
}
