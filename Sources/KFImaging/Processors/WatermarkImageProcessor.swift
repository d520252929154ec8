/// Lays a picture over the image: once at an anchor, or tiled over all of it.
///
/// The identifier has the hash of the overlay's file and not its name, so that another picture under the same name gives
/// another image.
public struct WatermarkImageProcessor: ImageProcessor, Equatable {
    /// The picture and its origin.
    package enum Overlay: Sendable, Equatable {
        /// The file or URL of the text form, which has not been read, or `sha256:HEX` of an identifier.
        case named(String)
        /// The picture and the hash of its file, as `sha256:HEX`.
        case loaded(Bitmap, hash: String)
    }

    /// The place, size and opacity of the overlay.
    public struct Placement: Sendable, Equatable {
        /// The position inside the margins; the centre for an anchor that looks for content.
        public let anchor: CroppingImageProcessor.Anchor
        /// The sides of the box into which the overlay is resized, as a fraction of the image's sides; nil keeps the
        /// overlay's own size, in points.
        public let scale: Double?
        /// The factor of the overlay's alpha, from 0 to 1.
        public let opacity: Double
        /// The distance from the edges, and between tiles, in points.
        public let margin: Double
        /// Whether the overlay is repeated in both directions. One of the tiles is at the anchor.
        public let tile: Bool

        /// Clamps the numbers: the scale to 0.001…1, the opacity to 0…1, the margin to 0…``SizeSpec/maximum``. By default
        /// the overlay is at the bottom right, opaque, in its own size.
        public init(
            anchor: CroppingImageProcessor.Anchor = Self.standardAnchor, scale: Double? = nil, opacity: Double = 1,
            margin: Double = 0, tile: Bool = false
        ) {
            self.anchor = .init(x: anchor.x, y: anchor.y)
            self.scale = scale?.clamped(to: Self.scaleRange)
            self.opacity = opacity.clamped(to: 0...1)
            self.margin = margin.clamped(to: 0...SizeSpec.maximum)
            self.tile = tile
        }

        /// The range of the scale.
        public static let scaleRange = 0.001...1.0
        /// The bottom right.
        public static let standardAnchor = CroppingImageProcessor.Anchor(x: 1, y: 1)

        fileprivate var text: String {
            "anchor=\(anchor.text)" + (scale.map { ",scale=\(NumberText.format($0))" } ?? "")
                + ",opacity=\(NumberText.format(opacity)),margin=\(NumberText.format(margin))" + (tile ? ",tile" : "")
        }
    }

    package let overlay: Overlay
    /// The place, size and opacity of the overlay.
    public let placement: Placement

    package init(_ overlay: Overlay, _ placement: Placement) {
        self.overlay = overlay
        self.placement = placement
    }

    /// The first frame of a file is the overlay; a profile is converted to sRGB. `hash` is the file's, as `sha256:HEX`.
    ///
    /// - Throws: the errors of the decoder.
    package init(
        decoding file: [UInt8], hash: String, _ placement: Placement, limits: DecodeLimits
    ) throws(ImagingError) {
        let options = DecodeOptions(limits: limits, firstFrameOnly: true, convertsToSRGB: true)
        let picture = try ImageDecoder.decode(file, options: options).bitmap.reducedToEightBits()
        self.init(.loaded(picture, hash: hash), placement)
    }

    /// Returns the SHA-256 of each overlay that an identifier names, in hexadecimal digits.
    package static func overlays(in identifier: String) -> [Substring] {
        // Searching for a text would link 1.4 MB of regular expressions.
        let mark = "watermark:sha256:"
        return identifier.split(separator: "|").map { $0.drop { $0 == ">" } }
            .compactMap { $0.hasPrefix(mark) ? $0.dropFirst(mark.count).prefix(64) : nil }
    }

    /// The file or URL that has to be read first; nil for an overlay that is there, or of which only the hash is known.
    fileprivate var unread: String? {
        guard case .named(let name) = overlay, !name.hasPrefix("sha256:") else { return nil }
        return name
    }

    public var identifier: String {
        switch overlay {
        case .named(let text), .loaded(_, let text): "watermark:\(text),\(placement.text)"
        }
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        guard case .loaded(let picture, _) = overlay else {
            throw .processingFailed(identifier: identifier, reason: "the overlay's file has not been read")
        }
        var drawing: OverlayDrawing?
        return try item.image(options.decode, coloring: !picture.format.isGray) { (bitmap) throws(ImagingError) in
            // All frames of an animation have one size.
            if let drawing { return try drawing.draw(over: bitmap) }
            let fitted = try fitted(picture, to: bitmap.size, options)
            drawing = fitted
            return try fitted.draw(over: bitmap)
        }
    }

    private func fitted(
        _ picture: Bitmap, to canvas: PixelSize, _ options: ProcessingOptions
    ) throws(ImagingError) -> OverlayDrawing {
        var size: PixelSize
        if let scale = placement.scale {
            let box = ResizingImageProcessor(
                width: Double(canvas.width) * scale, height: Double(canvas.height) * scale, mode: .fit)
            size = box.targetSize(width: picture.width, height: picture.height)
        } else {
            size = PixelSize(
                width: SizeSpec.pixels(Double(picture.width) * options.scaleFactor),
                height: SizeSpec.pixels(Double(picture.height) * options.scaleFactor))
        }
        try options.decode.limits.check(size)
        return OverlayDrawing(
            picture: try Resampler.resize(picture, to: size), opacity: Float(placement.opacity),
            anchor: placement.anchor, margin: SizeSpec.pixels(placement.margin * options.scaleFactor, least: 0),
            isTiled: placement.tile)
    }
}

extension ImageProcessor {
    /// This processor, if it is a watermark whose overlay has to be read first, and the name of that.
    package var unreadWatermark: (watermark: WatermarkImageProcessor, overlay: String)? {
        guard let watermark = self as? WatermarkImageProcessor else { return nil }
        return watermark.unread.map { (watermark, $0) }
    }

    /// The processor without the watermarks whose overlays have not been read.
    package var droppingUnreadWatermarks: any ImageProcessor {
        if missingOverlays.isEmpty { return self }
        return Self.chain(steps.filter { $0.unreadWatermark == nil })
    }

    /// The overlays that have to be read before the processor can work and its identifier is known.
    package var missingOverlays: [String] { steps.compactMap { $0.unreadWatermark?.overlay } }
}
