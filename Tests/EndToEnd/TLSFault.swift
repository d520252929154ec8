import Support
import Testing

/// Something that goes wrong between the TCP connection and the image, and what `kf` has to say about it.
struct TLSFault: Sendable, CustomTestStringConvertible {
    let name: String
    /// A word of `tls_server.py`.
    var server = "serve"
    var certificate = TestCertificates.Kind.good
    /// Without any, `--cacert` names the authority of the tests.
    var options: [String]?
    /// A piece of the message. Its code is 2003 but for one.
    let says: String
    var code = 2003
    /// The connections, with two retries allowed.
    var connections = 1

    var testDescription: String { name }

    /// One of each kind: useless and useful to retry, before, in and after the handshake, and within the body.
    static let samples = all.filter {
        ["eof", "client-1.3", "cut-reset", "endless-cut"].contains($0.server) || $0.certificate == .expired
            || $0.options?.contains("empty.pem") == true
    }

    /// Those that a proxy can have as well.
    static let ofHandshakes = all.filter { !["cut", "cut-closed", "cut-reset", "endless-cut"].contains($0.server) }

    static let all: [TLSFault] =
        [
            TLSFault(name: "an unknown authority", options: [], says: "is from an unknown authority"),
            TLSFault(name: "plain HTTP", server: "plain", says: "its port does not speak TLS"),
            TLSFault(name: "an old version of TLS", server: "tls-1.1", says: "no secure connection to 127.0.0.1"),
            TLSFault(name: "no common protocol", server: "alert-120", says: "no application protocol"),
            TLSFault(name: "a demand for a certificate", server: "client-1.2", says: "handshake failure"),
            TLSFault(name: "the same in TLS 1.3", server: "client-1.3", says: "certificate required"),
            TLSFault(name: "the same over HTTP/2", server: "client-h2", says: "certificate required"),
            TLSFault(
                name: "an end within the handshake", server: "eof", says: "lost: within the TLS handshake",
                connections: 3),
            TLSFault(
                name: "a reset within it", server: "reset", says: "lost: within the TLS handshake", connections: 3),
            TLSFault(
                name: "silence within it", server: "hold", options: ["--timeout", "1s"], says: "timed out",
                connections: 3),
            TLSFault(name: "a reset within the body", server: "cut-reset", says: "connection lost", connections: 3),
            TLSFault(name: "a cut body", server: "cut-closed", says: "broke off after", connections: 3),
            TLSFault(name: "a cut body without close_notify", server: "cut", says: "broke off after", connections: 3),
            TLSFault(name: "the same without a length", server: "endless-cut", says: "truncated", code: 2008),
        ]
        + [
            (.expired, "has expired"), (.notYetValid, "is not valid yet"), (.selfSigned, "is self-signed"),
            (.wrongHost, "is for another host"), (.withoutIntermediate, "is from an unknown authority"),
        ].map { TLSFault(name: "certificate: \($0)", certificate: $0, says: "the certificate of 127.0.0.1:PORT \($1)") }
        + ["empty.pem", "text.pem", "cut.pem", "."].map {
            TLSFault(name: "--cacert \($0)", options: ["--cacert", $0], says: "error setting certificate file: \($0)")
        }
}

/// A proxy whose tunnel to an https source fails.
struct TunnelFault: Sendable, CustomTestStringConvertible {
    let name: String
    let says: String
    var requests = 1
    let steps: [FaultStep]

    var testDescription: String { name }

    private static let made = FaultStep.head("HTTP/1.1 200 Connection established")

    static let all = [
        TunnelFault(
            name: "status 403", says: "proxy: the connection was refused with status 403", steps: [.reply("403 No")]),
        TunnelFault(name: "status 407", says: "proxy: a user name and password", steps: [.reply("407 No")]),
        TunnelFault(name: "status 502", says: "refused with status 502", requests: 3, steps: [.reply("502 No")]),
        TunnelFault(name: "no answer", says: "connection lost: Proxy CONNECT aborted", requests: 3, steps: [.close]),
        TunnelFault(
            name: "no HTTP", says: "connection lost: CONNECT tunnel failed", requests: 3,
            steps: [.text("garbage\r\n\r\n"), .close]),
        TunnelFault(
            name: "plain HTTP behind it", says: "no secure connection to origin.test: its port does not speak TLS",
            steps: [made, .reply("400 Bad Request"), .hold]),
        TunnelFault(
            name: "an end behind it", says: "lost: within the TLS handshake with origin.test", requests: 3,
            steps: [made, .close]),
    ]
}
