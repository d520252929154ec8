import Foundation

/// A directory of authorities that one run of a program alone finds at `/etc/ssl/certs`, where libcurl and OpenSSL look
/// for those of the system. It is mounted in a namespace of its own.
package final class PrivateAuthorities: Sendable {
    private let folder: TemporaryDirectory

    package static var isPossible: Bool { PrivateNames.isPossible }

    /// The directory, in the form that OpenSSL reads: a file per authority, named by the hash of its name.
    package var directory: String { folder.path("certs").path }

    /// The authority stands in the directory alone; the file of all authorities there has another one.
    package init(trusting authority: String, file other: String) async throws {
        folder = try TemporaryDirectory()
        let result = try await Tool.run("openssl", "x509", "-noout", "-hash", "-in", authority)
        let hash = result.output.trimmingCharacters(in: .whitespacesAndNewlines)
        guard result.status == 0, !hash.isEmpty else { throw RunningCommand.Failure(description: "\(result)") }
        try folder.write("certs/\(hash).0", String(contentsOfFile: authority, encoding: .utf8))
        try folder.write("certs/ca-certificates.crt", String(contentsOfFile: other, encoding: .utf8))
    }

    /// The same command, run with these authorities.
    package func wrapping(_ command: KFCommand) throws -> KFCommand {
        let script = """
            #!/bin/sh
            exec unshare -rm /bin/sh -c '
            mount --bind "$1" /etc/ssl/certs || exit 99
            shift
            exec "$@"' sh '\(directory)' '\(command.binary.path)' "$@"

            """
        var wrapped = command
        wrapped.binary = folder.path("kf")
        try Tool.makeExecutable(wrapped.binary, from: folder.write("kf.sh", script))
        return wrapped
    }
}
