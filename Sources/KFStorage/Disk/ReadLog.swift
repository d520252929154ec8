/// What reading would like to write: access times and counts. Written once, when the process ends.
struct ReadLog {
    var touches: [Int64: Touch] = [:]
    var counts = ReadCounts()

    var isEmpty: Bool { touches.isEmpty && counts == ReadCounts() }
}

/// A read that moved an entry's times.
struct Touch {
    let accessed: Timestamp
    let expires: Timestamp
}
