import KFCore

/// A modifier that signs requests. A real one might await the signature from a service.
struct Signature: ImageDownloadRequestModifier {
    func modified(for request: ImageDownloadRequest) async -> ImageDownloadRequest? {
        var request = request
        request.headers.append(("X-Signature", "example"))
        return request
    }
}
