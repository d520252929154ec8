/// Something that the library was to do and did not.
struct Failure: Error, CustomStringConvertible {
    let description: String
}

/// Prints what is so, and gives up where it is not.
func check(_ holds: Bool, _ text: String) throws(Failure) {
    guard holds else { throw Failure(description: "not so: \(text)") }
    print(text)
}
