/// A check that failed.
struct Failure: Error, CustomStringConvertible {
    let description: String
}

/// Prints a statement that holds, and throws if it does not.
func check(_ holds: Bool, _ text: String) throws(Failure) {
    guard holds else { throw Failure(description: "not so: \(text)") }
    print(text)
}
