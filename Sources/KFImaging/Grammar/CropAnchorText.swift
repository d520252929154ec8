/// Reads a crop's anchor: `AXxAY`, or the name of a place.
enum CropAnchorText {
    private static let places: [(String, Double, Double)] = [
        ("center", 0.5, 0.5), ("top-left", 0, 0), ("top", 0.5, 0), ("top-right", 1, 0), ("left", 0, 0.5),
        ("right", 1, 0.5), ("bottom-left", 0, 1), ("bottom", 0.5, 1), ("bottom-right", 1, 1),
    ]

    static func parse(_ arguments: ProcessorArguments) throws(ImagingError) -> CroppingImageProcessor.Anchor {
        guard let text = arguments.text("anchor") else { return .center }
        if let place = places.first(where: { $0.0 == text.lowercased() }) { return .init(x: place.1, y: place.2) }
        if let (x, y) = PairText.split(text), let x = NumberText.parse(x), let y = NumberText.parse(y) {
            return .init(x: x, y: y)
        }
        let names = places.map(\.0).joined(separator: ", ")
        throw arguments.fail("anchor is '\(text)', but must be like '0.5x0.5' or one of \(names)")
    }
}
