/// What the process says when it ends. A larger one hides a smaller one, usage errors apart.
enum ExitStatus: Int32, Comparable {
    case success = 0
    case someFailed = 1
    case usage = 2
    case cacheFailed = 3
    case interrupted = 130
    case terminated = 143

    static func < (a: ExitStatus, b: ExitStatus) -> Bool { a.rawValue < b.rawValue }

    mutating func raise(to status: ExitStatus) { self = max(self, status) }
}
