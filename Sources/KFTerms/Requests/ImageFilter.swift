import KFImaging

/// The images that a retrieval accepts, by what their originals measure. Others end with `filtered` (2012), and nothing of
/// them is stored.
///
/// An image is judged by the first bytes of its body where its format allows that, and by the whole file otherwise. What
/// was measured is remembered for as long as the image would have been cached, so that no later filter needs a request.
public struct ImageFilter: Hashable, Sendable {
    /// The least width in pixels, as displayed. An image whose size is not known has none.
    public var minWidth = 0
    /// The least height in pixels, as displayed.
    public var minHeight = 0
    /// The greatest ratio of the longer side to the shorter one; nil accepts all. An image whose size is not known has none.
    public var maxAspect: Double?
    /// The least size of the file in bytes.
    public var minBytes: Int64 = 0
    /// The formats that are accepted; nil accepts all.
    public var formats: Set<ImageFormat>?

    /// Creates a filter that accepts every image.
    public init() {}

    /// The filter in one line.
    package var text: String {
        let formats = formats.map { $0.map(\.rawValue).sorted().joined(separator: ",") } ?? "all"
        return
            "\(minWidth)x\(minHeight), aspect \(maxAspect.map { "\($0)" } ?? "any"), \(minBytes) bytes, formats \(formats)"
    }

    /// Returns why an image is refused, as the message of an error; nil if it is accepted. What is not known does not
    /// count, unless the file `isWhole`.
    package func refusal(of image: ImageMeasures, isWhole: Bool = false) -> String? {
        if let bytes = image.bytes, bytes < minBytes { return "\(bytes) bytes, not at least \(minBytes)" }
        if let formats, let format = image.format, !formats.contains(format) {
            return "\(format), not \(formats.map(\.rawValue).sorted().joined(separator: " or "))"
        }
        guard let width = image.width, let height = image.height else {
            let needsSize = minWidth > 0 || minHeight > 0 || maxAspect != nil
            return isWhole && needsSize ? "its size in pixels is not known" : nil
        }
        if width < minWidth || height < minHeight {
            let sides = [minWidth, minHeight].map { $0 > 0 ? "\($0)" : "" }
            return "\(width)×\(height) pixels, not at least \(sides.joined(separator: "×"))"
        }
        if let maxAspect, Double(max(width, height)) > maxAspect * Double(min(width, height)) {
            return "\(width)×\(height) pixels, a longer shape than \(maxAspect) to 1"
        }
        return nil
    }

    /// Returns why an image is refused whose orientation may not be known yet.
    func refusal(ofArriving image: ImageMeasures) -> String? {
        var turned = image
        (turned.width, turned.height) = (image.height, image.width)
        return refusal(of: turned) == nil ? nil : refusal(of: image)
    }
}

/// What is known of an original without decoding it. Nil is not known.
public struct ImageMeasures: Hashable, Sendable {
    /// The format, recognised by the first bytes.
    public var format: ImageFormat?
    /// The width in pixels, as displayed.
    public var width: Int?
    /// The height in pixels, as displayed.
    public var height: Int?
    /// The size of the file in bytes.
    public var bytes: Int64?

    /// Creates measures.
    public init(format: ImageFormat? = nil, width: Int? = nil, height: Int? = nil, bytes: Int64? = nil) {
        (self.format, self.width, self.height, self.bytes) = (format, width, height, bytes)
    }
}

extension HeaderLines {
    /// The measures of the original, for an entry that has not its bytes.
    package var measures: ImageMeasures? {
        guard let words = self[.image]?.split(separator: " "), words.count == 4 else { return nil }
        return ImageMeasures(
            format: ImageFormat(rawValue: String(words[0])), width: Int(words[1]), height: Int(words[2]),
            bytes: Int64(words[3]))
    }

    /// Returns the lines with the measures of the original.
    package func measuring(_ image: ImageMeasures?) -> HeaderLines {
        guard let image else { return self }
        let numbers = [image.width.map(Int64.init), image.height.map(Int64.init), image.bytes]
        let words = [image.format?.rawValue ?? "-"] + numbers.map { $0.map { "\($0)" } ?? "-" }
        return noting(.image, words.joined(separator: " "))
    }
}
