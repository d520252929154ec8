/// What is wrong with a response head.
enum HeadFault: Error, Equatable {
    case malformed(String)
    case conflictingLength
    /// A transfer coding that was not asked for, or the content coding of a part.
    case coding(String)
}
