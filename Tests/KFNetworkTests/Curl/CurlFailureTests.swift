import CCurl
import Testing

@testable import KFNetwork

@Suite("Errors of libcurl")
struct CurlFailureTests {
    private func error(
        _ code: CURLcode, phase: Exchange.Phase = .connecting, errno: Int32 = 0, verify: Int = 0,
        detail: String = "detail"
    ) -> TransferError {
        CurlFailure(
            code: code, detail: detail, phase: phase, scheme: "http", host: "h", osErrno: errno, verifyResult: verify,
            expected: 10, received: 3
        ).error
    }

    @Test("Each code of libcurl becomes a transfer error") func codes() {
        #expect(error(CURLE_COULDNT_RESOLVE_HOST) == .resolve(host: "h"))
        #expect(error(CURLE_COULDNT_CONNECT, errno: 111) == .connect(host: "h", detail: "Connection refused"))
        #expect(error(CURLE_COULDNT_CONNECT) == .connect(host: "h", detail: "detail"))
        #expect(error(CURLE_PARTIAL_FILE, phase: .body) == .truncated(expected: 10, got: 3))
        #expect(error(CURLE_GOT_NOTHING) == .emptyReply)
        #expect(error(CURLE_URL_MALFORMAT) == .invalidURL)
        #expect(error(CURLE_COULDNT_RESOLVE_PROXY) == .proxy(detail: "detail"))
        #expect(error(CURLE_HTTP2_STREAM, phase: .body) == .connectionLost(detail: "detail"))
    }

    @Test("The phase refines the meaning of a code") func phases() {
        #expect(error(CURLE_UNSUPPORTED_PROTOCOL) == .unsupportedScheme("http"))
        #expect(error(CURLE_UNSUPPORTED_PROTOCOL, phase: .head) == .protocolError(detail: "not HTTP/1 or HTTP/2"))
        #expect(error(CURLE_OUT_OF_MEMORY) == .engine(detail: "out of memory"))
        #expect(
            error(CURLE_OUT_OF_MEMORY, phase: .head) == .badHeaders(detail: "a header line of more than 100 KiB"))
        let chunk = "Illegal or missing hexadecimal sequence in chunked-encoding"
        #expect(error(CURLE_RECV_ERROR, phase: .body, detail: chunk) == .protocolError(detail: chunk))
        let died = "Connection died, tried 5 times before giving up"
        #expect(error(CURLE_RECV_ERROR, phase: .head, detail: died) == .connectionLost(detail: died))
        #expect(error(CURLE_RECV_ERROR, phase: .body, detail: died) == .connectionLost(detail: died))
        #expect(
            error(CURLE_RECV_ERROR, phase: .body, errno: 104) == .connectionLost(detail: "Connection reset by peer"))
        #expect(error(CURLE_WEIRD_SERVER_REPLY, phase: .head) == .badHeaders(detail: "detail"))
    }

    @Test("A broken handshake is a lost connection, a refused one is not") func handshakes() {
        let ends = [
            "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to h:443 ", "Recv failure: Connection reset by peer",
            "TLS connect error: error:0A000126:SSL routines::unexpected eof while reading",
        ]
        for detail in ends {
            let error = error(CURLE_SSL_CONNECT_ERROR, detail: detail)
            #expect(error == .connectionLost(detail: "within the TLS handshake with h"))
        }
        let alert = "error:0A000410:SSL routines::sslv3 alert handshake failure"
        for (code, phase) in [(CURLE_SSL_CONNECT_ERROR, Exchange.Phase.connecting), (CURLE_RECV_ERROR, .head)] {
            #expect(error(code, phase: phase, detail: alert) == .tls(.other, host: "h", detail: alert))
        }
        #expect(error(CURLE_RECV_ERROR, phase: .body, detail: alert) == .connectionLost(detail: alert))
    }

    @Test("Certificate errors name their reason") func certificates() {
        let reasons: [(Int, TLSFailure)] = [
            (0, .wrongHost), (1, .wrongHost), (9, .notYetValid), (10, .expired), (18, .selfSigned),
            (19, .unknownAuthority),
            (20, .unknownAuthority), (62, .wrongHost), (23, .other),
        ]
        for (number, failure) in reasons {
            #expect(
                error(CURLE_PEER_FAILED_VERIFICATION, verify: number) == .tls(failure, host: "h", detail: "detail"))
        }
        #expect(error(CURLE_SSL_CACERT_BADFILE) == .tls(.other, host: "h", detail: "detail"))
    }

    @Test("The library of libcurl can be loaded") func library() {
        #expect(kf_curl_load() == nil)
        #expect(
            String(cString: kf_curl_version()).hasPrefix("7.") || String(cString: kf_curl_version()).hasPrefix("8."))
    }
}
