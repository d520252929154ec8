import KFStorage

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
