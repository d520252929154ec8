import KFImaging

/// What a transfer may cost, the way that it takes, and how its image is checked: a call shares only transfers that would
/// end for it as its own.
struct TransferTerms: Hashable, Sendable {
    private let timeout: Duration?
    private let maxTime: Duration?
    private let maxRedirects: Int
    private let maxBytes: Int64
    private let proxy: String?
    private let forcesHTTP11: Bool
    private let inspector: ImageInspector

    init(_ request: RequestOptions, _ inspector: ImageInspector) {
        timeout = request.timeout
        maxTime = request.maxTime
        maxRedirects = request.maxRedirects
        maxBytes = request.maxBytes
        proxy = request.proxy
        forcesHTTP11 = request.forcesHTTP11
        self.inspector = inspector
    }
}
