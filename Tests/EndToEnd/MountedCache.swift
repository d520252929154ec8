import Foundation
import Support

/// A shell script over a cache that lies on a file system of its own: it is mounted in a namespace that nobody else
/// sees, and is gone when the script ends. In it, `kf` is the binary, `$C` the cache, `$F` the fixtures and `$H` a
/// directory of the test's own.
struct MountedCache {
    let kf: KFCommand

    static func isPossible() async -> Bool {
        do {
            return try await Tool.run("unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt").status == 0
        } catch {
            return false
        }
    }

    func run(_ script: String, timeout: Duration = .seconds(60)) async throws -> CommandResult {
        let text = """
            set -e
            C=$KF_CACHE_DIR F='\(FixturesDirectory.url.path)' H='\(kf.home.url.path)'
            kf() { '\(kf.binary.path)' "$@"; }
            fails() { want=$1; shift; got=0; "$@" || got=$?; [ $got = $want ] || { echo "$* ended with $got, not $want"; exit 99; }; }
            \(script)
            """
        var environment = kf.environment
        environment["TMPDIR"] = kf.home.url.path
        return try await RunningCommand("unshare", ["-rm", "sh", "-c", text], environment: environment)
            .wait(timeout: timeout)
    }
}
