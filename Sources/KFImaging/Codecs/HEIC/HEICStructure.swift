/// The boxes of a HEIC, read without libheif: the primary picture, or the track of a file without one.
struct HEICStructure: FileStructure {
    let properties: AVIFProperties
    let hasAlpha: Bool
    /// The pictures of a sequence beside the primary one; 1 without a sequence.
    private(set) var pictures = 1
    private(set) var isGrid = false
    /// The feature for which kf does not decode the picture; nil for one that it decodes.
    private(set) var undecodable: String?
    private var isComplete: Bool

    /// Reads the boxes as far as the bytes reach.
    ///
    /// - Throws: `truncated` without the boxes that describe the picture, `corrupt` without a picture.
    init(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent) throws(ImagingError) {
        var (meta, moov): (ISOBox?, ISOBox?)
        var mentions = 0
        let isWhole = try bytes.forEachBox(in: 0..<bytes.count) { (box) throws(ImagingError) in
            switch box.kind {
            case "meta":
                meta = meta ?? box
                mentions += try AVIFItems.mentions(bytes, meta: box.body)
            case "moov": moov = moov ?? box
            default: return
            }
        }
        let tracks = try AVIFTracks(bytes, moov: moov?.body ?? 0..<0, coded: ["hvc1", "hev1"])
        if let meta, meta.isComplete {
            let items = try AVIFItems(bytes, meta: meta.body, of: .heic)
            (properties, hasAlpha, isGrid) = (items.properties, items.hasAlpha, items.isGrid)
            isComplete = items.hasPicture && (items.hasOthers || isWhole)
            pictures = max(1, tracks.color?.frames ?? 1)
            if items.extentCount > 1 << 17 { undecodable = "more than 131072 extents" }
            if let kind = items.kind, !HEICStructure.kinds.contains(kind) {
                undecodable = "a picture of the kind '\(kind)'"
            }
            if mentions > 1 << 16 { undecodable = "more than 65536 mentions of items" }
        } else {
            // libheif reads no tracks.
            guard meta == nil, let moov, moov.isComplete, let color = tracks.color else { throw .truncated(.heic) }
            (properties, hasAlpha) = (color.properties, tracks.alpha != nil)
            isComplete = color.isComplete
            undecodable = "a sequence of pictures and no still one"
        }
        if properties.size.width == 0 || properties.size.height == 0 { throw .corrupt(.heic, reason: "no size") }
    }

    /// The kinds of pictures that libheif decodes: HEVC, AV1, and those that it composes of other pictures.
    private static let kinds: Set<FourCharacters> = ["hvc1", "av01", "grid", "iden", "iovl"]

    var info: ImageInfo {
        let (x, y) = properties.visible
        return ImageInfo(
            format: .heic, stored: PixelSize(width: x.count, height: y.count), orientation: properties.orientation,
            hasAlpha: hasAlpha, colorModel: properties.isGray ? .gray : .rgb, bitDepth: properties.bitDepth)
    }

    func check() throws(ImagingError) -> [ImageWarning] {
        if !isComplete { throw .truncated(.heic) }
        return []
    }

    /// An estimate of what libheif and libde265 hold. While they decode, that is a copy of the planes that libde265 has
    /// decoded, the RGB that libheif 1.15 makes of them, and half a byte a pixel about libde265's blocks; afterwards the RGB.
    var libraryBytes: (decoding: Int, decoded: Int) {
        let pixels = (min(properties.size.width, 1 << 28) + 63) * (min(properties.size.height, 1 << 28) + 63)
        let bytesPerSample = properties.bitDepth > 8 ? 2 : 1
        // libheif holds the coded samples of only some cells of a grid at a time.
        let coded = isGrid ? 0 : properties.samplesOfFour * bytesPerSample * pixels / 4
        let alpha = hasAlpha ? bytesPerSample * pixels : 0
        let decoded = (properties.isGray ? 1 : 3) * bytesPerSample * pixels + alpha + (8 << 20)
        return (decoded + coded + (isGrid ? 0 : alpha) + pixels / 2, decoded)
    }
}
