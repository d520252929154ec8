import KFNetwork

/// How images are downloaded and checked: made once for a call or a run, and shared by all of its transfers.
final class DownloadTerms: Sendable {
    let request: RequestOptions
    let inspector: ImageInspector
    /// An image may come with any status from 200 to 299.
    let acceptsEverySuccess: Bool
    /// What the engine is told, but for the credentials of a URL.
    let transfer: TransferOptions
    private let costs: TransferTerms

    init(_ request: RequestOptions, _ inspector: ImageInspector, acceptsEverySuccess: Bool) {
        self.request = request
        self.inspector = inspector
        self.acceptsEverySuccess = acceptsEverySuccess
        transfer = TransferOptions(request, acceptsEverySuccess: acceptsEverySuccess)
        costs = TransferTerms(request, inspector)
    }

    /// Whether a transfer on the other terms would end in the same way.
    func isAlike(_ other: DownloadTerms) -> Bool {
        self === other || costs == other.costs && acceptsEverySuccess == other.acceptsEverySuccess
    }
}

extension TransferOptions {
    init(_ request: RequestOptions, acceptsEverySuccess: Bool) {
        self.init()
        timeout = request.timeout
        maxTime = request.maxTime
        maxRedirects = request.maxRedirects
        maxBytes = request.maxBytes
        userAgent = request.userAgent
        netrc = request.netrcFile.map { $0.isEmpty ? .standard : .file($0) } ?? .none
        proxy = request.proxy
        caFile = request.caFile
        trustedHosts = request.trustedHosts
        forceHTTP11 = request.forcesHTTP11
        denyPrivate = request.deniesPrivateAddresses
        if acceptsEverySuccess { acceptedStatus = ResponseStatus.bringingImages }
    }
}
