extension ProcessorArguments {
    /// A colour, which must be given.
    func color(_ key: String) throws(ImagingError) -> Color {
        guard let text = text(key) else { throw fail("\(key) is missing, as in '#ff8800'") }
        guard let color = Color(text) else {
            throw fail("\(key) is '\(text)', but must be a colour like '#f80', '#ff8800' or '#ff880080'")
        }
        return color
    }

    /// A colour; the default where it is not given.
    func color(_ key: String, default standard: Color) throws(ImagingError) -> Color {
        text(key) == nil ? standard : try color(key)
    }
}
