import KFImaging

/// What a transfer may cost, and the way that it takes: a call shares only transfers that would end for it as its own.
struct TransferTerms: Hashable, Sendable {
    private let timeout: Duration?
    private let maxTime: Duration?
    private let maxRedirects: Int
    private let maxBytes: Int64
    private let proxy: String?
    private let forcesHTTP11: Bool
    private let limits: DecodeLimits

    init(_ request: RequestOptions, _ limits: DecodeLimits) {
        timeout = request.timeout
        maxTime = request.maxTime
        maxRedirects = request.maxRedirects
        maxBytes = request.maxBytes
        proxy = request.proxy
        forcesHTTP11 = request.forcesHTTP11
        self.limits = limits
    }
}
