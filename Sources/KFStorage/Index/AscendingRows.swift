/// Checks that rows come in the order of their numbers, each once. On a damaged page they may not, and a loop that goes on
/// behind the last row of each page of results would never end.
struct AscendingRows {
    private let path: String
    private(set) var last: Int64?
    private(set) var count = 0

    /// `path`: of the index.
    init(_ path: String) { self.path = path }

    mutating func take(_ row: Int64) throws(StorageError) -> Int64 {
        if let last, row <= last { throw .corruptIndex(path: path, detail: "its rows are out of order") }
        last = row
        count += 1
        return row
    }

    /// Where the next page of results begins when this one was to have `limit` rows; nil: there is none.
    func next(limit: Int) -> Int64? {
        guard let last, count == limit, last < .max else { return nil }
        return last + 1
    }
}
