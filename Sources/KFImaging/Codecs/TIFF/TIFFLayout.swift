/// How a TIFF stores its pixels.
struct TIFFLayout {
    /// The way from the file's samples to pixels.
    enum Colors: Equatable {
        case gray(isInverted: Bool)
        case rgb
        case palette
        case inks
        /// CIE L*a*b* of a white of D50.
        case lab
        /// libtiff makes RGB of luma and chroma.
        case converted
    }

    /// An alpha channel that follows the colours.
    enum Alpha { case straight, premultiplied }

    let bits: Int
    let samples: Int
    let colors: Colors
    let alpha: Alpha?
    /// The feature of the page for which kf does not decode it; nil for a page that it decodes.
    let undecodable: String?

    private static let compressions = [
        32_766: "NeXT", 32_809: "ThunderScan", 32_908: "PixarFilm", 32_909: "PixarLog", 34_661: "JBIG",
        34_676: "SGILog",
        34_677: "SGILog24", 34_712: "JPEG 2000", 34_887: "LERC", 34_892: "lossy DNG", 34_925: "LZMA",
        50_000: "Zstandard", 50_001: "WebP", 52_546: "JPEG XL",
    ]
    /// None, CCITT (RLE, T.4, T.6), LZW, JPEG (old and new), deflate (two numbers), CCITT RLE with words, PackBits.
    private static let decodable: Set<Int> = [1, 2, 3, 4, 5, 6, 7, 8, 32_946, 32_771, 32_773]

    init(_ tags: TIFFTags) {
        let compression = tags.value(259) ?? 1
        let isJPEG = compression == 7
        samples = tags.value(277) ?? (compression == 6 ? 3 : 1)
        bits = tags.value(258) ?? (compression == 6 ? 8 : 1)
        let extras = tags.count(338)
        var colors: Colors?
        // As libtiff, when nothing states the colours: fax pages are white where a sample is 0.
        let usual = samples - extras >= 3 ? 2 : [2, 3, 4].contains(compression) ? 0 : 1
        let photometric = tags.value(262) ?? (compression == 6 ? 6 : usual)
        switch photometric {
        case 0, 1: colors = .gray(isInverted: photometric == 0)
        case 2: colors = samples >= 3 ? .rgb : nil
        case 3: colors = .palette
        case 5: colors = samples >= 4 ? .inks : nil
        case 6: colors = !isJPEG ? .converted : samples >= 3 ? .rgb : nil
        // libtiff takes the white of D50 for that of sRGB, so that all colours become yellower.
        case 8: colors = samples >= 3 ? .lab : nil
        default: colors = nil
        }
        self.colors = colors ?? .gray(isInverted: false)
        alpha = TIFFLayout.alpha(tags, samples: samples, colors: colors)
        let sampleFormat = tags.value(339) ?? 1
        if !TIFFLayout.decodable.contains(compression) {
            undecodable = "\(TIFFLayout.compressions[compression] ?? "unknown") compression (\(compression))"
        } else if ![1, 4].contains(sampleFormat) {
            undecodable = sampleFormat == 3 ? "floating-point samples" : "signed or complex samples"
        } else if !(1...16).contains(bits) {
            undecodable = "\(bits) bits a sample"
        } else if (0..<min(tags.count(258), 1 << 16)).contains(where: { tags.value(258, $0) != tags.value(258) }) {
            undecodable = "samples of different depths"
        } else if photometric == 5, tags.value(332) ?? 1 != 1 || samples < 4 {
            undecodable = "inks other than CMYK"
        } else if photometric == 32_803 || photometric == 34_892 {
            undecodable = "the raw data of a camera"
        } else {
            undecodable = colors == nil ? "colours of kind \(photometric) in \(samples) samples" : nil
        }
    }

    /// The first sample behind the colours is alpha if the file says so, or if an RGB picture says nothing of a fourth
    /// sample, which libtiff takes for alpha too.
    private static func alpha(_ tags: TIFFTags, samples: Int, colors: Colors?) -> Alpha? {
        switch colors {
        case .gray, .palette: if samples < 2 { return nil }
        case .rgb: if samples < 4 { return nil }
        default: return nil
        }
        switch tags.value(338) {
        case 1: return .premultiplied
        case 2: return .straight
        case nil: return colors == .rgb && samples == 4 ? .premultiplied : nil
        default: return nil
        }
    }

    var hasAlpha: Bool { alpha != nil }

    /// The samples of a pixel that count: the first ones. A file of a few bytes may state thousands.
    var used: Int {
        switch colors {
        case .gray, .palette: hasAlpha ? 2 : 1
        case .rgb: hasAlpha ? 4 : 3
        case .inks: 4
        case .lab: 3
        case .converted: 0
        }
    }

    var model: ImageInfo.ColorModel {
        switch colors {
        case .gray: .gray
        case .palette: .indexed
        case .inks: .cmyk
        case .rgb, .lab, .converted: .rgb
        }
    }

    /// The format of the decoded pixels.
    var format: PixelFormat {
        switch colors {
        case .gray: PixelFormat(hasAlpha ? .grayAlpha : .gray, bits > 8 ? .sixteen : .eight)
        case .rgb: PixelFormat(hasAlpha ? .rgba : .rgb, bits > 8 ? .sixteen : .eight)
        case .palette: hasAlpha ? .rgba : .rgb
        case .inks, .lab, .converted: .rgb
        }
    }
}
