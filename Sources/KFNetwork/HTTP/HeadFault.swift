/// What is wrong with a response head.
enum HeadFault: Error, Equatable {
    case malformed(String)
    case conflictingLength
    /// A content or transfer coding that nobody asked for.
    case coding(String)
}
