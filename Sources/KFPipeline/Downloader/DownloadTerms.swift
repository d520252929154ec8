import KFNetwork
import KFStorage
import KFTerms

/// The terms of downloading and checking images. One object is made per call or run, and all of its transfers share it.
final class DownloadTerms: Sendable {
    let request: RequestOptions
    let inspector: ImageInspector
    /// Whether images are accepted with any status from 200 to 299.
    let acceptsEverySuccess: Bool
    /// The engine's options, without credentials from a URL.
    let transfer: TransferTerms

    init(_ request: RequestOptions, _ inspector: ImageInspector, acceptsEverySuccess: Bool) {
        self.request = request
        self.inspector = inspector
        self.acceptsEverySuccess = acceptsEverySuccess
        var options = request.transfer
        if acceptsEverySuccess { options.acceptedStatus = ResponseStatus.bringingImages }
        transfer = TransferTerms(options)
    }

    /// Returns the request to a URL. Here, because elsewhere the call would copy all options (14 retains).
    func request(to url: RequestURL) -> PreparedRequest { request.request(to: url) }

    /// Returns the digest of a request, which identifies a body that can be resumed.
    func digest(of url: RequestURL) -> Digest { RequestIdentity.digest(url, request) }

    /// Returns whether a transfer with the other terms would end in the same way.
    func isAlike(_ other: DownloadTerms) -> Bool {
        self === other || transfer.options == other.transfer.options && inspector == other.inspector
    }
}
