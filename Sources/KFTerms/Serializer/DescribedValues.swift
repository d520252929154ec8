import KFImaging
import KFSystem

/// How much of an image is described. Each level has the values of those before it.
package enum DescriptionLevel: Int, Sendable, CaseIterable, Comparable {
    /// The hash, from the smallest decode that is enough for it.
    case dhash
    /// The figures of the luma too, from a decode of at least 384 pixels a side.
    case luma
    /// The colour and the transparency too, from all pixels.
    case color
    /// The ThumbHash too.
    case thumbhash

    /// The name in the identifier of an entry.
    var name: String {
        switch self {
        case .dhash: "dhash"
        case .luma: "luma"
        case .color: "color"
        case .thumbhash: "thumbhash"
        }
    }

    /// Returns the level that has these values; nil when they need no description.
    package init?(_ measures: [ImageMeasure], _ placeholder: ImagePlaceholder?) {
        let levels = measures.compactMap(\.level) + [placeholder?.level].compactMap(\.self)
        guard let highest = levels.max() else { return nil }
        self = highest
    }

    package static func < (lower: Self, higher: Self) -> Bool { lower.rawValue < higher.rawValue }
}

extension ImageMeasure {
    fileprivate var level: DescriptionLevel? {
        switch self {
        case .dhash: .dhash
        case .entropy, .mean, .sharpness: .luma
        case .color, .transparent: .color
        case .frames: nil
        }
    }
}

extension ImagePlaceholder {
    fileprivate var level: DescriptionLevel { self == .color ? .color : .thumbhash }
}

/// The values of an ``ImageDescription`` as far as they were asked for.
package struct DescribedValues: Sendable, Equatable {
    package struct Figures: Sendable, Equatable {
        package let entropy: Double
        package let mean: Double
        package let sharpness: Double

        init(of sketch: LumaSketch) throws(ImagingError) {
            let measures = try sketch.measures()
            entropy = (measures.entropy * 10_000).rounded() / 10_000
            mean = (measures.mean * 100).rounded() / 100
            sharpness = (measures.sharpness * 100).rounded() / 100
        }
    }

    package struct Pixels: Sendable, Equatable {
        package let isTransparent: Bool
        package let color: String

        init(of bitmap: Bitmap) throws(ImagingError) {
            let average = try AverageColor(bitmap)
            (isTransparent, color) = (!average.isOpaque, String(average.color.hexadecimal.prefix(7)))
        }
    }

    package let dhash: UInt64
    package let figures: Figures?
    package let pixels: Pixels?
    package let thumbhash: String?

    /// Describes the first frame of an image. `source` is the size that it had if its decoder has reduced it.
    init(of frame: Image, source: PixelSize?, _ level: DescriptionLevel) throws(ImagingError) {
        let bitmap = frame.bitmap
        let sketch =
            level == .dhash ? try LumaSketch(toHash: bitmap, of: source) : try LumaSketch(bitmap, of: source)
        dhash = try sketch.dhash()
        figures = level >= .luma ? try Figures(of: sketch) : nil
        pixels = level >= .color ? try Pixels(of: bitmap) : nil
        thumbhash = level == .thumbhash ? try ImagePlaceholder.thumbhash.value(of: frame.sketched(256)) : nil
    }

    /// Returns a placeholder; nil when it was not asked for.
    package func value(of placeholder: ImagePlaceholder) -> String? {
        placeholder == .color ? pixels?.color : thumbhash
    }
}

extension DescribedValues {
    /// The values as they are stored.
    var text: String {
        var parts = [ImageDescription.text(ofHash: dhash)]
        if let figures { parts += ["\(figures.entropy)", "\(figures.mean)", "\(figures.sharpness)"] }
        if let pixels { parts += ["\(pixels.isTransparent)", pixels.color] }
        if let thumbhash { parts.append(thumbhash) }
        return parts.joined(separator: " ")
    }

    /// Nil for any text that is not a description's, so that the values need no escapes in a page or a list.
    init?(text: ArraySlice<UInt8>) {
        let parts = text.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard [1, 4, 6, 7].contains(parts.count), let hash = UInt64(parts[0], radix: 16) else { return nil }
        dhash = hash
        figures = parts.count > 1 ? Figures(parts[1...3]) : nil
        pixels = parts.count > 4 ? Pixels(parts[4...5]) : nil
        thumbhash = parts.count > 6 ? Base64.decode(parts[6]).map { Base64.encode($0) } : nil
        let isWhole = [figures == nil, pixels == nil, thumbhash == nil] == [4, 6, 7].map { parts.count < $0 }
        if !isWhole { return nil }
    }
}

extension DescribedValues.Figures {
    fileprivate init?(_ texts: ArraySlice<String>) {
        let values = texts.compactMap(Double.init).filter(\.isFinite)
        guard values.count == 3 else { return nil }
        (entropy, mean, sharpness) = (values[0], values[1], values[2])
    }
}

extension DescribedValues.Pixels {
    fileprivate init?(_ texts: ArraySlice<String>) {
        guard let first = texts.first, let last = texts.last, let isTransparent = Bool(first), let color = Color(last)
        else { return nil }
        (self.isTransparent, self.color) = (isTransparent, String(color.hexadecimal.prefix(7)))
    }
}
