import Testing

@testable import KFImaging

@Suite("The parser of processors")
struct ProcessorParserTests {
    @Test(
        "Identifiers are normalised and parsed again",
        arguments: [
            ("resize:320x240", "resize:320x240,none"), ("resize:320x240,fit", "resize:320x240,fit"),
            ("resize:320X240, mode=FILL", "resize:320x240,fill"), ("resize:320x,fit", "resize:320x"),
            ("resize:x240.5", "resize:x240.5"), ("crop:20x10", "crop:20x10,anchor=0.5x0.5"),
            ("crop:20x10,anchor=top-left", "crop:20x10,anchor=0x0"),
            ("crop:20x10,anchor=-1x2", "crop:20x10,anchor=0x1"),
            ("resize:320x240,cover", "resize:320x240,fill|>crop:320x240,anchor=0.5x0.5"),
            ("resize:20x10,Cover,shrink,anchor=top", "resize:20x10,fill,shrink|>crop:20x10,anchor=0.5x0"),
            ("resize:20x10,cover,anchor=30%x70%", "resize:20x10,fill|>crop:20x10,anchor=0.3x0.7"),
            ("crop:20x10,anchor=Attention", "crop:20x10,anchor=attention"),
            ("crop:20x10,entropy", "crop:20x10,anchor=entropy"),
            ("trim", "trim:10"), ("trim:tolerance=2.50", "trim:2.5"),
            ("watermark:sha256:00ff", "watermark:sha256:00ff,anchor=1x1,opacity=1,margin=0"),
            (
                "watermark:https://a.example/b.png?c=d,top-left,0.25,opacity=.5,margin=8,tile",
                "watermark:https://a.example/b.png?c=d,anchor=0x0,scale=0.25,opacity=0.5,margin=8,tile"
            ),
            ("tint:RebeccaPurple", "tint:#663399ff"), ("overlay:transparent,0", "overlay:#00000000,fraction=0"),
            ("blur:10", "blur:10"), ("Blur: radius = 2.50", "blur:2.5"), ("blur:1e1", "blur:10"), ("", ""),
            ("downsample:64x64", "downsample:64x64"), ("downsample:x1.25", "downsample:x1.25"),
            ("pad:10x20.5,#FFF", "pad:10x20.5,#ffffffff"), ("pad:color=#11223344,size=1x1", "pad:1x1,#11223344"),
            ("rotate:270", "rotate:270"), ("Rotate:angle=90", "rotate:90"), ("flip:H", "flip:h"), ("flip:v", "flip:v"),
            ("overlay:#f80", "overlay:#ff8800ff,fraction=0.5"),
            ("overlay:#ff880040, 0.123456789012345", "overlay:#ff880040,fraction=0.123456789012345"),
            ("tint:#12345678", "tint:#12345678"), ("color", "color:brightness=0,contrast=1,saturation=1,ev=0"),
            ("color:-0.1,ev=-1e-7", "color:brightness=-0.1,contrast=1,saturation=1,ev=-1e-07"),
            ("color:0,1.1,1.2,0.7", "color:brightness=0,contrast=1.1,saturation=1.2,ev=0.7"),
            ("color:brightness=-0", "color:brightness=0,contrast=1,saturation=1,ev=0"),
            ("black-white", "black-white"), ("GRAYSCALE", "grayscale"),
            ("blend:multiply", "blend:multiply,alpha=1,background=#00000000"),
            ("blend:Color-Dodge,0.25,background=#abc", "blend:color-dodge,alpha=0.25,background=#aabbccff"),
            ("round-corner:10", "round-corner:10,corners=tl+tr+bl+br,background=#00000000"),
            ("round-corner:0.25w,br+TL", "round-corner:0.25w,corners=tl+br,background=#00000000"),
            (
                "round-corner:.5H,size=x20,background=#fff",
                "round-corner:0.5h,corners=tl+tr+bl+br,size=x20,background=#ffffffff"
            ),
            ("border", "border:4,#000000ff,radius=0,corners=tl+tr+bl+br"),
            ("border:1.5,#f00,radius=0.1w,corners=bl", "border:1.5,#ff0000ff,radius=0.1w,corners=bl"),
            ("sharpen:1.25", "sharpen:1.25"), ("sharpen:0.1", "sharpen:0.1"),
            ("resize:100x100 |> blur:3|>crop:5x5", "resize:100x100,none|>blur:3|>crop:5x5,anchor=0.5x0.5"),
        ])
    func identifiers(_ spec: String, _ identifier: String) throws {
        #expect(try ProcessorParser.parse(spec).identifier == identifier)
        #expect(try ProcessorParser.parse(identifier).identifier == identifier)
    }

    @Test(
        "An error names the mistake",
        arguments: [
            ("resise:1x1", "did you mean 'resize'"), ("wobble:3", "there are"), ("blur", "radius is missing"),
            ("blur:-1", "0 to 10000"), ("blur:nan", "number"), ("blur:0x10", "number"), ("blur:inf", "number"),
            ("blur:3,4", "too many"), ("blur:radius=3,radius=4", "twice"), ("blur:sigma=3", "it takes radius"),
            ("resize:0x5", "above 0"), ("resize:x", "like '320x240'"), ("resize:5", "like '320x240'"),
            ("resize:99999999x5", "up to 65535"), ("resize:5x5,covers", "none, fit, fill, cover"),
            ("resize:5x,cover", "cover needs both sides"),
            ("resize:5x5,fill,anchor=top", "anchor needs the mode cover"), ("trim:-1", "0 to 255"),
            ("watermark", "overlay is missing, as in 'logo.png'"), ("watermark:a.png,anchor=attention", "anchor is"),
            ("watermark:a.png,scale=2", "scale is '2'"), ("watermark:a.png,opacity=2", "opacity is '2'"),
            ("watermark:a.png,tile=1", "tile is a word of its own"), ("watermark:a.png,margin=-1", "margin is"),
            ("crop:5x", "both sides"),
            ("crop:5x5,anchor=middle", "center"), ("blur:", "empty"), ("blur:3|>", "empty step"),
            ("|>blur:3", "empty step"), ("downsample:0x0", "size is '0x0'"), ("downsample", "size is missing"),
            ("pad:5x5", "color is missing"), ("pad:5x,#fff", "both sides"), ("pad:5x5,rod", "color is 'rod'"),
            ("pad:70000x5,#fff", "up to 65535"), ("rotate:45", "angle is '45', but must be one of 90, 180, 270"),
            ("rotate", "angle is missing"), ("flip:x", "direction is 'x', but must be one of h, v"),
            ("overlay:#ff", "'#f80', '#ff8800', '#ff880080' or 'tomato'"), ("overlay", "color is missing"),
            ("overlay:#fff,1.5", "fraction is '1.5', but must be a number from 0 to 1"), ("tint:", "color is empty"),
            ("color:nan", "brightness is 'nan'"), ("color:contrast=-1", "contrast is '-1'"),
            ("color:0,1,1e9", "0 to 100"),
            ("color:ev=inf", "ev is 'inf'"), ("color:gamma=2", "it takes brightness, contrast, saturation, ev"),
            ("black-white:1", "it takes none"), ("grayscale:level=1", "no argument 'level'; it takes none"),
            ("greyscale", "did you mean 'grayscale'"), ("blend", "mode is missing"),
            ("blend:softlight", "plus-lighter"),
            ("blend:softlight", "did you mean 'soft-light'"), ("blend:normal,2", "alpha is '2'"),
            ("blend:normal,background=whale", "background is 'whale'"), ("round-corner", "radius is missing"),
            ("roundcorner:5", "did you mean 'round-corner'"), ("round-corner:-1", "radius is '-1'"),
            ("round-corner:2w", "fraction from 0 to 1"), ("round-corner:nan", "radius is 'nan'"),
            ("round-corner:1e9", "0 to 65535"), ("round-corner:w", "radius is 'w'"),
            ("round-corner:5,corners=tl+xx", "tl, tr, bl, br"), ("round-corner:5,corners=tl+", "corners is 'tl+'"),
            ("round-corner:5,size=0x0", "size is '0x0'"), ("border:0", "width is '0', but must be a number above 0"),
            ("border:-3", "above 0"), ("border:nan", "width is 'nan'"), ("border:4,#fff,radius=inf", "radius is 'inf'"),
            ("sharpen:0", "sigma is '0', but must be a number above 0 and up to 100"), ("sharpen:101", "up to 100"),
            ("sharpen", "sigma is missing"), ("sharpen:-1", "sigma is '-1'"),
        ])
    func mistakes(_ spec: String, _ hint: String) {
        let error = #expect(throws: ImagingError.self) { try ProcessorParser.parse(spec) }
        #expect(error?.message.contains(hint) == true, "\(error?.message ?? "")")
    }

    @Test("Every blend mode is parsed again") func blendModes() throws {
        for mode in BlendMode.allCases {
            let processor = BlendImageProcessor(blendMode: mode, alpha: 1.0 / 3)
            #expect(try ProcessorParser.parse(processor.identifier) as? BlendImageProcessor == processor)
        }
    }

    @Test("Values outside their ranges are clamped") func clamped() throws {
        let processors: [(any ImageProcessor, String)] = [
            (OverlayImageProcessor(overlay: .white, fraction: .nan), "overlay:#ffffffff,fraction=0"),
            (BlendImageProcessor(blendMode: .normal, alpha: -0.1), "blend:normal,alpha=0,background=#00000000"),
            (
                ColorControlsProcessor(brightness: -2, contrast: .infinity, inputEV: 99),
                "color:brightness=-1,contrast=100,saturation=1,ev=20"
            ),
            (RoundCornerImageProcessor(cornerRadius: -1, roundingCorners: []), "round-corner:0,corners=none"),
            (RoundCornerImageProcessor(radius: .widthFraction(2)), "round-corner:1w,corners=tl+tr+bl+br"),
            (BorderImageProcessor(border: .init(lineWidth: 0, radius: .heightFraction(.nan))), "border:1,#000000ff"),
            (SharpenImageProcessor(sigma: 0), "sharpen:1"), (BlurImageProcessor(blurRadius: 1e9), "blur:10000"),
            (PaddingImageProcessor(width: 0, height: 5, color: .white), "pad:1x5,#ffffffff"),
            (CroppingImageProcessor(width: .nan, height: 1e9), "crop:1x65535,anchor=0.5x0.5"),
            (ResizingImageProcessor(width: 320, height: -1, mode: .aspectFit), "resize:320x1,fit"),
            (DownsamplingImageProcessor(width: 20, height: 30), "downsample:20x30"),
            (TintImageProcessor(tint: .black), "tint:#000000ff"),
            (TrimmingImageProcessor(tolerance: 256), "trim:255"),
            (
                WatermarkImageProcessor(
                    .named("sha256:0"), .init(anchor: .attention, scale: 0, opacity: 2, margin: .nan)),
                "watermark:sha256:0,anchor=0.5x0.5,scale=0.001,opacity=1,margin=0"
            ),
        ]
        for (processor, start) in processors {
            #expect(processor.identifier.hasPrefix(start), "\(processor.identifier)")
            #expect(try ProcessorParser.parse(processor.identifier).identifier == processor.identifier)
        }
    }

    @Test("Chains of chains are flat") func chains() throws {
        let blur = try ProcessorParser.parse("blur:3")
        let chain = DefaultImageProcessor().append(another: blur).append(another: DefaultImageProcessor())
            .append(another: blur.append(another: blur))
        #expect(chain.identifier == "blur:3|>blur:3|>blur:3")
        #expect((chain as? ChainedImageProcessor)?.steps.count == 3)
        #expect(DefaultImageProcessor.default.append(another: DefaultImageProcessor.default).identifier.isEmpty)
    }

    @Test("Colours are parsed") func colours() {
        #expect(Color("#f80") == Color(red: 255, green: 136, blue: 0))
        #expect(Color("#FF880040") == Color(red: 255, green: 136, blue: 0, alpha: 64))
        #expect(Color("#ff8800")?.hexadecimal == "#ff8800ff")
        #expect(Color("Tomato") == Color(red: 255, green: 99, blue: 71) && Color("white") == .white)
        #expect(Color("lightgoldenrodyellow") == Color("#fafad2") && Color("transparent") == .transparent)
        for text in [
            "", "f80", "fafad2", "tomatoes", "light red", "#ff", "#ff88", "#gg0000", "#ff880", "#ff88001", "#+f8800",
            "#ff8800401",
        ] {
            #expect(Color(text) == nil)
        }
    }
}
