import KFCore

/// The file of `--failures`: the records of items that failed or were not tried, byte for byte, so that the file is a
/// list itself.
struct FailureFile: ~Copyable {
    private struct Place: Hashable {
        let list: String
        let line: Int
    }

    private var file: AppendedFile
    private var header: [UInt8]?
    /// The records with several items that have been written.
    private var shared: Set<Place> = []
    /// The reason why failures are missing from the file; nil while none are.
    var problem: String? { file.problem }

    init(_ path: String) throws(UsageError) {
        file = try AppendedFile(path, option: "--failures")
    }

    /// Empties the file of an earlier run if this run has no failure.
    mutating func finish() { file.empty() }

    mutating func add(_ item: PrefetchItem) {
        guard problem == nil else { return }
        if item.sharesRecord, !shared.insert(Place(list: item.list, line: item.line)).inserted { return }
        var bytes: [UInt8] = []
        if let header {
            // Headers of one list share their storage, so that == is fast even for a header of a megabyte.
            guard header == item.header else {
                file.problem = "\(file.path): the lists do not have the same columns, \(item.list) is missing"
                return
            }
        } else {
            header = item.header
            bytes += item.header
        }
        bytes += item.record
        if !item.record.isEmpty, bytes.last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
        file.append(bytes)
    }
}
