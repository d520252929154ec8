import Foundation
import Synchronization

/// Names that one run of a program alone can resolve: it gets its own `/etc/hosts` and `/etc/resolv.conf`, mounted over
/// the real ones in a namespace of its own.
package final class PrivateNames: Sendable {
    package enum NameServer: Sendable {
        /// Takes questions and does not answer.
        case silent
        /// Answers as the names say, see `name_server.py`.
        case scripted
    }

    private static let address = "127.83.70.1"
    private static let scripted = Mutex(0)

    private let folder: TemporaryDirectory
    private let socket: Int32?
    private let server: ServerProcess?

    /// Whether this machine lets us make such a namespace.
    package static let isPossible: Bool = runs("unshare", "-rm", "mount", "--bind", "/dev/null", "/etc/hosts")

    /// And whether a name server can listen on the one port where it is looked for.
    package static let canListen: Bool = {
        guard isPossible, let socket = try? listen() else { return false }
        close(socket)
        return true
    }()

    package init(hosts: [String: [String]], nameServer: NameServer? = nil) throws {
        folder = try TemporaryDirectory()
        let lines = hosts.sorted { $0.key < $1.key }.flatMap { name, addresses in addresses.map { "\($0) \(name)\n" } }
        try folder.write("hosts", "127.0.0.1 localhost\n" + lines.joined())
        switch nameServer {
        case nil:
            try folder.write("resolv.conf", "")
            (socket, server) = (nil, nil)
        case .silent:
            try folder.write("resolv.conf", "nameserver \(Self.address)\n")
            (socket, server) = (try Self.listen(), nil)
        case .scripted:
            let number = Self.scripted.withLock { number in
                number += 1
                return number
            }
            let address = "127.83.\(71 + getpid() % 180).\(number)"
            // One attempt a lookup: the number of questions is then that of the lookups.
            try folder.write("resolv.conf", "nameserver \(address)\noptions timeout:30 attempts:1\n")
            socket = nil
            server = try ServerProcess(
                "/usr/bin/python3", "name_server.py", [address, folder.path("questions.log").path])
        }
    }

    /// The number of lookups of each name that the scripted name server has seen.
    package func lookups() throws -> [String: Int] {
        let log = try String(contentsOf: folder.path("questions.log"), encoding: .utf8)
        return log.split(separator: "\n").filter { $0.hasPrefix("A ") }.reduce(into: [:]) {
            $0[String($1.dropFirst(2)), default: 0] += 1
        }
    }

    deinit { if let socket { close(socket) } }

    /// The same command, run with these names.
    package func wrapping(_ command: KFCommand) throws -> KFCommand {
        let script = """
            #!/bin/sh
            exec unshare -rm /bin/sh -c '
            mount --bind "$1/hosts" /etc/hosts && mount --bind "$1/resolv.conf" /etc/resolv.conf || exit 99
            shift
            exec "$@"' sh '\(folder.url.path)' '\(command.binary.path)' "$@"

            """
        var wrapped = command
        wrapped.binary = folder.path("kf")
        try Tool.makeExecutable(wrapped.binary, from: folder.write("kf.sh", script))
        return wrapped
    }

    private static func listen() throws -> Int32 {
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        let socket = Glibc.socket(AF_INET, type, 0)
        guard socket >= 0, FaultSocket.bind(socket, to: address, port: 53) else {
            let failure = FaultSocket.Failure(errno: errno)
            if socket >= 0 { close(socket) }
            throw failure
        }
        return socket
    }

    private static func runs(_ program: String, _ arguments: String...) -> Bool {
        let words = ([program] + arguments).map { "'\($0)'" }.joined(separator: " ")
        return system("\(words) >/dev/null 2>&1") == 0
    }
}
