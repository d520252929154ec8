import CCurl
import Glibc
import KFSystem

/// A failure reported by libcurl, with the facts that `error` needs to map it to a `TransferError`.
struct CurlFailure {
    var code: CURLcode
    /// The text of CURLOPT_ERRORBUFFER, or libcurl's text for the code.
    var detail: String
    var phase: Exchange.Phase
    var scheme = "http"
    var host: String
    var osErrno: Int32 = 0
    /// OpenSSL's X509_V_ERR_… number.
    var verifyResult = 0
    var expected: Int64?
    var received: Int64 = 0
    /// The host and port of the proxy that the request goes to.
    var proxy: String?

    var error: TransferError {
        switch code {
        case CURLE_URL_MALFORMAT: return .invalidURL
        case CURLE_UNSUPPORTED_PROTOCOL:
            // libcurl uses this code for an unknown scheme and for an unknown version of HTTP.
            return phase == .connecting ? .unsupportedScheme(scheme) : .notHTTP1([])
        case CURLE_COULDNT_RESOLVE_HOST: return .resolve(host: host)
        case CURLE_COULDNT_RESOLVE_PROXY where proxy != nil: return .proxy(detail: "could not resolve \(proxy ?? "")")
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: return .proxy(detail: detail)
        case CURLE_COULDNT_CONNECT where proxy != nil:
            return .proxy(detail: "could not connect to \(proxy ?? ""): \(systemDetail)")
        case CURLE_COULDNT_CONNECT: return .connect(host: host, detail: systemDetail)
        case CURLE_PEER_FAILED_VERIFICATION: return .tls(certificateFailure, host: host, detail: detail)
        case CURLE_SSL_CONNECT_ERROR where Self.losses.contains(where: detail.contains):
            return .connectionLost(detail: "within the TLS handshake with \(host)")
        // In TLS 1.3 the server refuses a client's certificate, or its absence, only after the handshake.
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_ISSUER_ERROR,
            CURLE_RECV_ERROR where phase != .body && Self.isAlert(detail):
            let isPlain = detail.contains("wrong version number")
            return .tls(.other, host: host, detail: isPlain ? "its port does not speak TLS" : detail)
        case CURLE_PARTIAL_FILE: return .truncated(expected: expected, got: received)
        case CURLE_GOT_NOTHING: return .emptyReply
        case CURLE_BAD_CONTENT_ENCODING: return .contentEncoding("an unknown coding")
        case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_SEND_ERROR: return .connectionLost(detail: systemDetail)
        // libcurl uses this code for a malformed chunk too.
        case CURLE_RECV_ERROR where phase == .body && osErrno == 0 && detail.hasSuffix("in chunked-encoding"):
            return .protocolError(detail: detail)
        case CURLE_RECV_ERROR: return .connectionLost(detail: systemDetail)
        case CURLE_OUT_OF_MEMORY where phase == .head:
            // libcurl 7.88 reports a header line of more than 100 KiB with this code.
            return .badHeaders(detail: "a header line of more than 100 KiB")
        case CURLE_WEIRD_SERVER_REPLY, Self.tooLarge: return brokenReply
        case CURLE_OUT_OF_MEMORY: return .engine(detail: "out of memory")
        default: return .protocolError(detail: "\(detail) [libcurl \(code.rawValue)]")
        }
    }

    /// Whether the peer has ended TLS for a reason that it names.
    static func isAlert(_ detail: String) -> Bool { detail.contains(" alert ") }

    /// Parts of libcurl's messages when the connection ends during the handshake, other than by a refusal.
    private static let losses = ["SSL_connect: ", "unexpected eof", "Recv failure: ", "Send failure: "]

    /// CURLE_TOO_LARGE, which the headers of Debian 12 do not define yet.
    private static let tooLarge = CURLcode(rawValue: 100)

    private var brokenReply: TransferError {
        if osErrno != 0 { return .connectionLost(detail: systemDetail) }
        switch phase {
        case .connecting: return .connectionLost(detail: detail)
        case .head: return .badHeaders(detail: detail)
        case .body, .draining: return .protocolError(detail: detail)
        }
    }

    private var systemDetail: String {
        osErrno == 0 ? detail : String(cString: strerror(osErrno))
    }

    /// The fault of the certificate, from OpenSSL's verify result. 0 and 1 mean a wrong host: libcurl itself checks the
    /// name once OpenSSL has accepted the chain (0), and before libcurl has stored that result (1).
    private var certificateFailure: TLSFailure {
        switch verifyResult {
        case 0, 1, 62, 64: .wrongHost
        case 9: .notYetValid
        case 10: .expired
        case 18: .selfSigned
        case 2, 19, 20, 21, 24: .unknownAuthority
        default: .other
        }
    }
}

extension TransferError {
    /// The error of a reply that does not begin with a status line. A server that speaks HTTP/2 alone begins with a
    /// SETTINGS frame (RFC 9113, 6.5), whatever it is asked in HTTP/1.1.
    static func notHTTP1(_ start: some Collection<UInt8>) -> TransferError {
        let head = Array(start.prefix(9))
        let isSettings =
            head.count == 9 && head[0] == 0 && (Int(head[1]) << 8 | Int(head[2])) % 6 == 0
            && head[3...] == [4, 0, 0, 0, 0, 0]
        return .protocolError(
            detail: isSettings
                ? "the server speaks only HTTP/2, which kf speaks over TLS alone" : "not HTTP/1 or HTTP/2")
    }
}
