extension Array where Element == (name: String, value: String) {
    /// The first value of a header; nil when there is none. The case of the name does not matter.
    ///
    /// Setting a value replaces all headers of that name, or appends one; nil removes them.
    public subscript(name: String) -> String? {
        get { first { $0.name.lowercased() == name.lowercased() }?.value }
        set {
            let place = firstIndex { $0.name.lowercased() == name.lowercased() }
            removeAll { $0.name.lowercased() == name.lowercased() }
            if let newValue { insert((name, newValue), at: place ?? endIndex) }
        }
    }
}
