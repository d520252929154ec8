/// A record of a list: a line, or several lines if its quoted fields contain line breaks.
struct ListRecord: Sendable {
    let line: Int
    /// The bytes as they were read, line break included; empty if the record was too long to keep.
    let bytes: ArraySlice<UInt8>
    var problem: ListProblem?

    /// The bytes without the line break: LF, CR LF or CR.
    var content: ArraySlice<UInt8> {
        let line = bytes.last == 0x0a ? bytes.dropLast() : bytes
        return line.last == 0x0d ? line.dropLast() : line
    }

    /// The first byte that is not white space; nil in a blank record.
    var firstVisible: UInt8? { content.first { $0 != 0x20 && $0 != 0x09 } }
}

enum ListProblem: Error, Equatable {
    /// The list cannot be read beyond this point.
    case damaged(String)
    /// The list does not have the expected form.
    case unusable(String)
    /// One record is invalid; the next may be valid.
    case record(String)
    /// One record has no source, such as a product without a picture; the next may have one.
    case empty(String)

    var message: String {
        switch self {
        case .damaged(let text), .unusable(let text), .record(let text), .empty(let text): text
        }
    }
}
