import Glibc
import KFCore
import Synchronization

/// The environment, the streams and the unfinished messages of one run of the command.
package final class Session: Sendable {
    let environment: [String: String]
    /// The descriptors of results and of messages.
    let output: Int32
    let errors: Int32
    /// The errno of the first failed write of a result; 0 while all succeeded.
    let failure = Atomic<Int32>(0)
    let color = Mutex(ColorChoice.auto)
    let messages = RepeatedMessages()
    let line = StatusLine()
    private let kept = Mutex<KingfisherManager?>(nil)

    /// Creates a session with the streams and the environment of the process, unless others are given.
    package init(
        environment: [String: String] = Session.processEnvironment, output: Int32 = STDOUT_FILENO,
        errors: Int32 = STDERR_FILENO
    ) {
        self.environment = environment
        self.output = output
        self.errors = errors
    }

    /// The session that runs; a process has one at a time, as it has one table of signals.
    static var current: Session { present.withLock { $0 } }

    private static let present = Mutex(Session(environment: [:]))

    func begin() { Self.present.withLock { $0 = self } }

    /// Keeps the manager of the command as long as the session. The session of a process is never released: the end of the
    /// process frees all at once, and taking a manager apart is a seventh of a hit's work.
    func keep(_ manager: KingfisherManager) { kept.withLock { $0 = manager } }

    /// The variables that the command reads, and the beginnings of the names of others. To decode all of an ordinary
    /// environment took a twentieth of a hit's instructions.
    static let variables: [StaticString] = [
        "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME", "TERM", "NO_COLOR", "CLICOLOR_FORCE", "TRACEPARENT",
        "CURL_CA_BUNDLE", "SSL_CERT_FILE", "GITHUB_ACTIONS", "GITHUB_WORKSPACE",
    ]
    static let families: [StaticString] = ["KF_", "AWS_"]

    /// The variables of the process that the command reads.
    package static var processEnvironment: [String: String] {
        var result: [String: String] = [:]
        result.reserveCapacity(16)
        for name in variables {
            if let value = getenv(name.cString) { result["\(name)"] = RawText.decode(value) }
        }
        var next = environ
        while let entry = next.pointee {
            next += 1
            guard families.contains(where: { strncmp(entry, $0.cString, $0.utf8CodeUnitCount) == 0 }),
                let mark = strchr(entry, 0x3d)  // "="
            else { continue }
            let name = UnsafeRawBufferPointer(start: entry, count: mark - entry)
            result[RawText.decode(name.bindMemory(to: UInt8.self))] = RawText.decode(mark + 1)
        }
        return result
    }
}

extension StaticString {
    fileprivate var cString: UnsafePointer<CChar> { UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self) }
}
