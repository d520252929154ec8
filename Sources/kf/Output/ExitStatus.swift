/// What the process says when it ends. Of several, the graver is said: a signal, wrong usage, the cache, the early stop,
/// single items.
enum ExitStatus: Int32, Comparable {
    case success = 0
    case someFailed = 1
    case usage = 2
    case cacheFailed = 3
    case stoppedEarly = 4
    case interrupted = 130
    case terminated = 143

    static func < (a: ExitStatus, b: ExitStatus) -> Bool { a.gravity < b.gravity }

    private var gravity: Int {
        switch self {
        case .success: 0
        case .someFailed: 1
        case .stoppedEarly: 2
        case .cacheFailed: 3
        case .usage: 4
        case .interrupted: 5
        case .terminated: 6
        }
    }

    mutating func raise(to status: ExitStatus) { self = max(self, status) }
}
