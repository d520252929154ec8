import Foundation
import Synchronization

/// A private nginx on loopback ports: what is well-formed is served by a real server. Plain HTTP at `port`, HTTP/2 over
/// TLS at `tlsPort` when certificates are given. Its files are in `root`.
package final class NginxServer: Sendable {
    package struct Failure: Error { package let text: String }

    package let directory: URL
    package let port: Int
    package let tlsPort: Int
    private let process: ChildProcess
    private let isStopped = Mutex(false)

    package var root: URL { directory.appending(path: "root") }

    package static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: "/usr/sbin/nginx") }

    /// `locations` goes into both servers. `certificate` and `key` are paths of PEM files.
    package init(certificate: String? = nil, key: String? = nil, locations: String = "") throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "kf-nginx-\(UUID().uuidString)")
        port = try Self.freePort()
        tlsPort = try Self.freePort()
        try FileManager.default.createDirectory(
            at: directory.appending(path: "root"), withIntermediateDirectories: true)
        var servers = "server { listen 127.0.0.1:\(port) backlog=1024; \(locations) }"
        if let certificate, let key {
            servers += """
                server { listen 127.0.0.1:\(tlsPort) ssl http2 backlog=1024;
                ssl_certificate \(certificate); ssl_certificate_key \(key); \(locations) }
                """
        }
        let text = """
            daemon off; master_process off; pid nginx.pid; error_log error.log;
            events { worker_connections 1024; }
            http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; root root;
            client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
            \(servers) }
            """
        try text.write(to: directory.appending(path: "nginx.conf"), atomically: true, encoding: .utf8)
        process = try ChildProcess("/usr/sbin/nginx", ["-p", directory.path, "-c", "nginx.conf", "-e", "error.log"])
        let deadline = ContinuousClock.now + .seconds(10)
        while !Self.isListening(port) {
            guard !process.hasEnded, ContinuousClock.now < deadline else {
                let log = try? String(contentsOf: directory.appending(path: "error.log"), encoding: .utf8)
                throw Failure(text: "nginx does not start: \(log ?? "")")
            }
            usleep(2_000)
        }
    }

    deinit { stop() }

    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    package func tlsURL(_ path: String, host: String = "127.0.0.1") -> String { "https://\(host):\(tlsPort)\(path)" }

    package func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: root.appending(path: path))
    }

    package func stop() {
        let wasStopped = isStopped.withLock { isStopped in
            defer { isStopped = true }
            return isStopped
        }
        guard !wasStopped else { return }
        process.terminate()
        process.wait()
        try? FileManager.default.removeItem(at: directory)
    }

    private static func freePort() throws -> Int {
        let (socket, port) = try FaultSocket.listen("127.0.0.1")
        FaultSocket.close(socket)
        return port
    }

    private static func isListening(_ port: Int) -> Bool {
        let socket = FaultSocket.connect(port: port)
        defer { FaultSocket.close(socket) }
        return FaultSocket.isConnected(socket, within: .milliseconds(100))
    }
}
