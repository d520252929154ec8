/// Everything that a handle is told for a hop but its address. A handle that was set up like that before is used as it
/// is: for small files over warm connections, setting the options again costs a tenth of a transfer.
struct HandleSetup: Equatable {
    enum Version { case any, overTLS, http11 }

    /// What the setup of nearly every hop follows from; cheaper to compare than the setup is to make.
    struct Terms {
        let options: TransferOptions
        let headers: [(name: String, value: String)]
        let isSecure: Bool
        let isTrusted: Bool

        func isSame(as other: Terms) -> Bool {
            options.isCopy(of: other.options) && isSecure == other.isSecure && isTrusted == other.isTrusted
                && headers.count == other.headers.count
                && headers.indices.allSatisfy { headers[$0] == other.headers[$0] }
        }
    }

    var version: Version
    var connectMilliseconds: Int
    var receiveBufferSize: Int
    var userAgent: String?
    var headerLines: [String]
    var credentials: TransferOptions.Credentials?
    var usesDigest: Bool
    var clientCertificate: ClientCertificate?
    var netrc: TransferOptions.Netrc
    /// nil: what the environment says.
    var proxy: String?
    var noProxy: String?
    var caFile: String?
    var isTrusted: Bool
}
