import Foundation
import Support

/// The system calls with which a command changes its cache, seen and spoilt by strace.
enum SystemCalls {
    /// The `number`th call of that name, on `path` if it always is the same one, in some thread of the command.
    struct Call: Hashable, CustomStringConvertible {
        let name: String
        let path: String?
        let number: Int

        var description: String { "\(name) number \(number) on \(path ?? "some file")" }
    }

    static func areTraceable() async -> Bool {
        guard Tool.isInstalled("strace") else { return false }
        do {
            return try await Tool.run("strace", "-o", "/dev/null", "true").status == 0
        } catch {
            return false
        }
    }

    /// A kill at a call that changes nothing is one at the next that does.
    private static let changing: Set = [
        "write", "pwrite64", "renameat", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "fdatasync", "fsync",
        "ftruncate", "fallocate", "openat",
    ]

    private static let lasting: Set = [
        "CACHEDIR.TAG", "index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "lock", "flights", "reserve",
    ]

    /// Those that a command makes in its cache. Of many alike, the first two and the last, unless `all` are wanted.
    static func made(by kf: KFCommand, _ arguments: [String], all: Bool) async throws -> [Call] {
        let log = kf.home.path("strace.log")
        _ = try await RunningCommand(
            "strace", ["-f", "-y", "-s", "0", "-o", log.path, kf.binary.path] + arguments, environment: kf.environment
        ).wait()
        // strace counts a thread's calls: with a path, those on it alone.
        var counts: [String: Int] = [:]
        var groups: [(key: String, calls: [Call])] = []
        for line in try String(contentsOf: log, encoding: .utf8).split(separator: "\n") {
            guard let start = line.firstMatch(of: /^(\d+) +([a-z0-9]+)\(/) else { continue }
            let name = String(start.2)
            counts["\(start.1) \(name)", default: 0] += 1
            let path = kf.path(in: line)
            if let path { counts["\(start.1) \(name) \(path)", default: 0] += 1 }
            guard let path, changing.contains(name), name != "openat" || line.contains("O_CREAT"),
                !line.contains(" = -1 E")
            else { continue }
            let isLasting = lasting.contains(String(path.split(separator: "/").last ?? ""))
            let key = "\(start.1) \(name)" + (isLasting ? " \(path)" : "")
            let call = Call(name: name, path: isLasting ? path : nil, number: counts[key] ?? 0)
            if groups.last?.key != key { groups.append((key, [])) }
            groups[groups.count - 1].calls.append(call)
        }
        var seen: Set<Call> = []
        return groups.flatMap { group in
            all
                ? group.calls
                : group.calls.prefix(2) + (group.calls.count > 2 ? [group.calls[group.calls.count - 1]] : [])
        }.filter { seen.insert($0).inserted }
    }

    /// `injection` as strace writes it: `error=EIO`, `signal=KILL`. Tells whether it came to that, in the cache and
    /// nowhere else.
    static func run(
        _ kf: KFCommand, _ arguments: [String], _ call: Call, _ injection: String
    ) async throws -> (result: CommandResult, isHit: Bool) {
        let log = kf.home.path("injected.log")
        let path = call.path.map { ["-P", $0] } ?? []
        let result = try await RunningCommand(
            "strace",
            ["-f", "-y", "-s", "0", "-o", log.path] + path + [
                "-e", "trace=\(call.name)", "-e", "inject=\(call.name):\(injection):when=\(call.number)",
                kf.binary.path,
            ] + arguments, environment: kf.environment
        ).wait()
        let injected = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").filter {
            $0.contains("(INJECTED)")
        }
        return (result, !injected.isEmpty && injected.allSatisfy { kf.path(in: $0) != nil })
    }
}

extension KFCommand {
    /// The last path in its cache that a line of strace's names.
    fileprivate func path(in line: Substring) -> String? {
        let root = cacheDirectory.path
        guard let found = line.ranges(of: root).last else { return nil }
        return root + line[found.upperBound...].prefix { !"\">".contains($0) }
    }
}
