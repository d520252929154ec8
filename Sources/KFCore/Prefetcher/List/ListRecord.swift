import KFStorage

/// A piece of a list that asks for one image: a line, or the lines of a record whose quoted fields have ends of lines.
struct ListRecord: Sendable {
    /// Of its first line, from 1.
    let line: Int
    /// As it was read, its end included; nothing when it was too long to be kept.
    let bytes: ArraySlice<UInt8>
    /// Why it cannot be understood, if that is plain already.
    var problem: ListProblem?

    /// Without its end: LF, or CR and LF.
    var content: ArraySlice<UInt8> {
        guard bytes.last == 0x0a else { return bytes }
        let line = bytes.dropLast()
        return line.last == 0x0d ? line.dropLast() : line
    }

    var isBlank: Bool { content.allSatisfy { $0 == 0x20 || $0 == 0x09 } }
}

/// What is wrong with a list or one of its records, in words.
enum ListProblem: Error, Equatable {
    /// The list cannot be read past here.
    case damaged(String)
    /// The list is not what it was said to be.
    case unusable(String)
    /// One record is of no use; the next may be.
    case record(String)

    var message: String {
        switch self {
        case .damaged(let text), .unusable(let text), .record(let text): text
        }
    }
}
