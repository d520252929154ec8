/// What reading would like to write: access times and counts. Written once, when the process ends.
struct ReadLog {
    struct Touch {
        let accessed: Timestamp
        let expires: Timestamp
    }

    var touches: [Int64: Touch] = [:]
    var hits: Int64 = 0
    var misses: Int64 = 0

    var isEmpty: Bool { touches.isEmpty && hits == 0 && misses == 0 }
}
