import KFImaging
import KFNetwork

/// Options that do not change any more, and what follows from them: made once for a call or a run, and shared by all of
/// its images.
final class OptionsBox: Sendable {
    let value: KingfisherOptions
    /// What the cache key carries beside the source's key.
    let identifier: String
    let inspector: ImageInspector
    let terms: TransferTerms
    /// For transfers to the origin that is asked first, without the credentials of a URL.
    let transfer: TransferOptions

    init(_ options: KingfisherOptions) {
        value = options
        identifier = options.identifier
        inspector = options.inspector
        terms = TransferTerms(options.request, inspector)
        transfer = TransferOptions(options.request, acceptsEverySuccess: options.cachePolicy == .http)
    }

    func with(_ change: (inout KingfisherOptions) -> Void) -> OptionsBox {
        var options = value
        change(&options)
        return OptionsBox(options)
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
