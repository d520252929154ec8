extension ProcessorArguments {
    /// A corner's radius; the default where it is not given.
    func radius(_ key: String, default standard: CornerRadius? = nil) throws(ImagingError) -> CornerRadius {
        guard let text = text(key) else {
            if let standard { return standard }
            throw fail("\(key) is missing, as in '10', '0.25w' or '0.5h'")
        }
        guard let radius = CornerRadius(text) else {
            let limit = NumberText.format(CornerRadius.maximum)
            throw fail(
                "\(key) is '\(text)', but must be pixels from 0 to \(limit), or a share from 0 to 1 of the width or "
                    + "height like '0.25w' or '0.5h'")
        }
        return radius
    }

    /// Corners; all where they are not given.
    func corners(_ key: String) throws(ImagingError) -> RectCorner {
        guard let text = text(key) else { return .all }
        guard let corners = RectCorner(text) else {
            throw fail("\(key) is '\(text)', but must be some of tl, tr, bl, br, joined like 'tl+br'")
        }
        return corners
    }
}
