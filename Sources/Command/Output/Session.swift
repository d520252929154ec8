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

    package static var processEnvironment: [String: String] {
        var result: [String: String] = [:]
        result.reserveCapacity(64)
        var next = environ
        while let entry = next.pointee {
            let bytes = UnsafeRawBufferPointer(start: entry, count: strlen(entry)).assumingMemoryBound(to: UInt8.self)
            if let mark = memchr(entry, 0x3d, bytes.count).map({ $0 - UnsafeMutableRawPointer(entry) }) {
                let name = RawText.decode(UnsafeBufferPointer(rebasing: bytes[..<mark]))
                result[name] = RawText.decode(UnsafeBufferPointer(rebasing: bytes[(mark + 1)...]))
            }
            next += 1
        }
        return result
    }
}
