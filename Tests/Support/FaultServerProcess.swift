import Glibc

/// A child process. Foundation's `Process` can wait for ever when it is used from the cooperative pool.
struct ChildProcess: Sendable {
    struct Failure: Error { let text: String }

    let id: pid_t

    /// Starts a program with its standard streams at /dev/null.
    init(_ program: String, _ arguments: [String]) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, mode) in [(0, O_RDONLY), (1, O_WRONLY), (2, O_WRONLY)] as [(Int32, Int32)] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", mode, 0)
        }
        // The test runner may block or ignore signals that the child needs for its end.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGTERM)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var id = pid_t()
        let code = posix_spawn(&id, program, &actions, &attributes, &words, environ)
        guard code == 0 else { throw Failure(text: "\(program): \(String(cString: strerror(code)))") }
        self.id = id
    }

    /// Runs a shell command to its end.
    static func run(_ command: String) throws {
        let status = try ChildProcess("/bin/sh", ["-c", command]).wait()
        guard status == 0 else { throw Failure(text: "\(command): status \(status)") }
    }

    @discardableResult func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0 && errno == EINTR {}
        return status
    }

    /// Has ended, and is waited for.
    var hasEnded: Bool {
        var status: Int32 = 0
        return waitpid(id, &status, WNOHANG) != 0
    }

    func terminate() { kill(id, SIGTERM) }
}
